#include <saltus/cdcsis.h>
double pom,k,T1,T2,T3,omb1,omb2,m,Ip,F1,omega,y[3],alfa[3],fi[3],yp[4],alfap[4],fip[4];
int i,i1,i2;
char text[100];
void blocks(){
switch(sj){
case 1://continuous block which calculates right sides of differential equations
pom=F1*sin(fi[0]);
y[2]=(pom-k*y[0])/m-2.0*omb1*y[1];
alfa[2]=(pom*0.7-k*0.81*alfa[0])/Ip-2.0*omb2*alfa[1];
break;
case 2:fi[2]=0.0;// acceleration in time T1
break;
case 3:fi[2]=-omega/T3;// acceleration in time T1+T2
break;
case 4:cancel("in1");// cancel of integrator with name "in" and cancel of harmonic force
// F1=0.0
}}
//main program
int main(){
T1=5.0;T2=1.0;T3=5.0;omega=100.;k=1.e6;m=500.;Ip=250;F1=1000.;// given values
omb1=0.1418*sqrt(k/m);omb2=0.1418*sqrt(k*0.81/Ip);// dumping contants
y[0]=0.0;y[1]=0.0;fi[0]=0.0;fi[1]=0.0;alfa[0]=0.0;alfa[1]=0.0;// initial conditions
fi[2]=omega/T1;// turning acceleration in time = 0
schedule(0.0,1,1,0,"y,alfa");// ordering of calculation of right sides of differential equations
schedule(T1,2,0,0,"T1");// ordering of change turning acceleration in time T1
schedule(T1+T2,3,0,0,"T2");// - " - in time T1+T2
schedule(T1+T2+T3,4,0,0,"T2");// ordering of stop of harmonic force in time  $T_1+T_2+T_3$ 
graf(&y[0],0.01,"vertical displacement");// ordering of graphic output
graf(&alfa[0],0.01,"turning");// - ” -
integr(2,&fi[1],fi,fip,"in1");// ordering of integration of turning acceleration
integr(2,&y[1],y,yp,"int y");// ordering of integration y''
integr(2,&alfa[1],alfa,alfap,"int alfa");// - “ -  $\alpha$ ''
wait(T1+T2+T3+0.5,0.02);// jump to simulation system
return(0);
}
